# cloud-auth as three CloudFormation stacks. The module uploads the templates and the functions' code of its own
# release to a bucket, and creates the stacks in their order.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

variable "assets_bucket" {
  description = "Existing S3 bucket in the region of the stacks."
  type        = string
}

variable "assets_prefix" {
  description = "Prefix of the keys in the bucket, with a slash at its end."
  type        = string
  default     = "cloud-auth/"

  validation {
    condition     = can(regex("^[A-Za-z0-9._/-]{1,255}/$", var.assets_prefix))
    error_message = "The prefix must end with a slash."
  }
}

variable "cluster_name" {
  description = "Name of the cluster in health and status. sys/init stores the name, so a later change does not rename the cluster."
  type        = string
  default     = "cloud-auth-prod"
}

variable "license" {
  description = "Licence for DR replication, a JWT; empty without DR replication."
  type        = string
  default     = ""
  sensitive   = true
}

variable "license_public_key" {
  description = "Public key of the signer of the licence, Ed25519, base64 DER."
  type        = string
  default     = ""
}

locals {
  release = "${path.module}/.."

  # CloudFormation rejects parameters that a template lacks
  parameters = {
    data = {
      ClusterName = var.cluster_name
    }
    functions = {
      AssetsBucket     = var.assets_bucket
      AssetsPrefix     = var.assets_prefix
      ClusterName      = var.cluster_name
      License          = var.license
      LicensePublicKey = var.license_public_key
    }
  }

  bucket_url = "https://${data.aws_s3_bucket.assets.bucket_regional_domain_name}"
}

data "aws_s3_bucket" "assets" {
  bucket = var.assets_bucket
}

resource "aws_s3_object" "asset" {
  for_each = fileset("${local.release}/assets", "*.zip")

  bucket = var.assets_bucket
  key    = "${var.assets_prefix}${each.value}"
  source = "${local.release}/assets/${each.value}"
}

# The key contains a hash, because a stack is updated only if the URL of its template changes.
resource "aws_s3_object" "template" {
  for_each = toset(["data", "api", "workers"])

  bucket = var.assets_bucket
  key    = "${var.assets_prefix}${each.value}-${filemd5("${local.release}/${each.value}.template.json")}.json"
  source = "${local.release}/${each.value}.template.json"
}

# The tables and the KMS key. CloudFormation keeps them when the stack is deleted. The name of a stack is part of the
# names of its exports, so the names are fixed.
resource "aws_cloudformation_stack" "data" {
  name         = "cloud-auth-prod-data"
  template_url = "${local.bucket_url}/${aws_s3_object.template["data"].key}"
  parameters   = local.parameters.data

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_cloudformation_stack" "api" {
  name         = "cloud-auth-prod-api"
  template_url = "${local.bucket_url}/${aws_s3_object.template["api"].key}"
  parameters   = local.parameters.functions
  capabilities = ["CAPABILITY_IAM"]

  depends_on = [aws_s3_object.asset, aws_cloudformation_stack.data]
}

resource "aws_cloudformation_stack" "workers" {
  name         = "cloud-auth-prod-workers"
  template_url = "${local.bucket_url}/${aws_s3_object.template["workers"].key}"
  parameters   = local.parameters.functions
  capabilities = ["CAPABILITY_IAM"]

  depends_on = [aws_cloudformation_stack.api]
}

output "address" {
  description = "Base URL of the API."
  value       = aws_cloudformation_stack.api.outputs["Address"]
}

output "init_function" {
  description = "Invoke this function once to initialise the cluster."
  value       = aws_cloudformation_stack.api.outputs["InitFunction"]
}
