/** The attributes of an instance that rules need, from DescribeInstances. */
export interface Instance {
  id: string
  state: string
  amiId?: string
  vpcId?: string
  subnetId?: string
  profileArn?: string
  tags: Readonly<Record<string, string>>
}
