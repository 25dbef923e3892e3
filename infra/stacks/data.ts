import { createHash } from 'node:crypto'
import { CfnOutput, Fn, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib'
import {
  AttributeType,
  Billing,
  CfnGlobalTable,
  ProjectionType,
  StreamViewType,
  TableEncryptionV2,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb'
import { type IKey, Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import { importCustomerKey } from '../constructs/account.ts'
import type { Settings } from '../settings.ts'

/** Stream view type of the cluster table. The stream records of the cluster table hold keys only. */
const CLUSTER_STREAM = StreamViewType.KEYS_ONLY

/**
 * Name of the output with the stream's ARN. The name contains the view type, because a table gets a new
 * stream ARN with a new view type and importing stacks must then read a new output.
 */
const STREAM_OUTPUT = `ClusterStream${CLUSTER_STREAM.replaceAll('_', '')}`

/**
 * The tables and the KMS key, which must outlive every deployment. CloudFormation replaces a resource when its
 * construct id changes, so these ids must never change.
 */
export class DataStack extends Stack {
  /** data that a DR secondary replicates */
  readonly data: TableV2
  /** data of this cluster only */
  readonly cluster: TableV2
  /** secrets of a running ceremony; never backed up */
  readonly ceremony: TableV2
  /** wraps the keyring. Without this KMS key, encrypted items and batch tokens are lost. */
  readonly key: IKey

  constructor(scope: Construct, id: string, settings: Settings, props: StackProps = {}) {
    super(scope, id, { ...props, terminationProtection: settings.deletionProtection })
    const removalPolicy = settings.deletionProtection ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY
    this.key =
      importCustomerKey(this, settings, 'keyring') ??
      new Key(this, 'Key', {
        enableKeyRotation: true,
        removalPolicy,
        description: `${settings.clusterName}: wraps the keyring`,
      })
    const plain = {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
      billing: Billing.onDemand(),
      encryption: TableEncryptionV2.awsManagedKey(),
      timeToLiveAttribute: 'ttl',
    }
    const table = (name: string, stream: { dynamoStream?: StreamViewType } = {}) =>
      new TableV2(this, name, {
        ...plain,
        pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
        deletionProtection: settings.deletionProtection,
        ...stream,
        removalPolicy,
      })
    // no stream, because no function reads changes of this table
    this.data = table('Data')
    // the stream only triggers the journal function, so its records carry keys and no journal data
    this.cluster = table('Cluster', { dynamoStream: CLUSTER_STREAM })
    // every item expires within an hour, so the table needs no backup and no deletion protection
    this.ceremony = new TableV2(this, 'Ceremony', {
      ...plain,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: false },
      removalPolicy: RemovalPolicy.DESTROY,
    })
    // Sparse index: only access-list and deny-list entries have `due`. Tidy queries it.
    this.data.addGlobalSecondaryIndex({
      indexName: 'expiry',
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'due', type: AttributeType.NUMBER },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: ['rev'],
    })
    // Sparse index: items have `bucket` while a journal is kept. The Merkle tree sums buckets from this index.
    this.data.addGlobalSecondaryIndex({
      indexName: 'tree',
      partitionKey: { name: 'bucket', type: AttributeType.STRING },
      sortKey: { name: 'pk', type: AttributeType.STRING },
      projectionType: ProjectionType.KEYS_ONLY,
    })
    this.encryptTables(settings.customerKeys?.tables)
    this.keepExports()
  }

  /**
   * Encrypts the tables with the customer's key, if the settings name such a key. Uses an override, because
   * the CDK's own property needs a stack with a known region.
   */
  private encryptTables(keyArn: string | undefined): void {
    if (keyArn === undefined) return
    for (const { node } of [this.data, this.cluster, this.ceremony])
      if (node.defaultChild instanceof CfnGlobalTable)
        node.defaultChild.addPropertyOverride('Replicas.0.SSESpecification', { KMSMasterKeyId: keyArn })
  }

  /**
   * Exports the tables and the key explicitly. When restored tables replace these tables, no stack imports
   * the exports, and the CDK would otherwise remove them.
   */
  private keepExports(): void {
    for (const table of [this.data, this.cluster]) {
      this.exportValue(table.tableName)
      this.exportValue(table.tableArn)
    }
    if (this.key instanceof Key) this.exportValue(this.key.keyArn)
    new CfnOutput(this, STREAM_OUTPUT, { value: this.cluster.tableStreamArn ?? '' })
  }

  /**
   * ARN of the cluster table's stream, for another stack. The ARN is an output and not an export, because
   * CloudFormation forbids changing an imported value and a stream gets a new ARN with a new view type. A
   * stack that reads the output gets the new ARN at its next deployment.
   */
  get clusterStreamArn(): string {
    return Fn.getStackOutput(this.stackName, STREAM_OUTPUT)
  }

  /**
   * Hash of the cluster table's definition. While the definition stays the same, the table keeps its stream.
   */
  get clusterDefinition(): string {
    const { defaultChild } = this.cluster.node
    if (!(defaultChild instanceof CfnGlobalTable))
      throw new Error('the cluster table must be a CfnGlobalTable')
    const definition = JSON.stringify(this.resolve(defaultChild._toCloudFormation()))
    return createHash('sha256').update(definition).digest('hex').slice(0, 16)
  }
}
