"""Headgate on Kubernetes: consumers as deployments, and the manifests of what controls them."""
