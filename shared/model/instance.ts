/** What DescribeInstances returns of an instance, as far as rules need it. */
export interface Instance {
  id: string
  state: string
  amiId?: string
  vpcId?: string
  subnetId?: string
  profileArn?: string
  tags: Readonly<Record<string, string>>
}
