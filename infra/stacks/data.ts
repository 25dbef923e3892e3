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

/** What the stream of the cluster's table tells. */
const CLUSTER_STREAM = StreamViewType.KEYS_ONLY

/** The output with that stream's ARN. Another kind of stream has another ARN, and another output: readers notice. */
const STREAM_OUTPUT = `ClusterStream${CLUSTER_STREAM.replaceAll('_', '')}`

/** What must outlive every deployment: tables and key. Construct ids decide replacement: they are a contract. */
export class DataStack extends Stack {
  /** everything that a DR secondary must have */
  readonly data: TableV2
  /** what belongs to this cluster alone */
  readonly cluster: TableV2
  /** secrets of a ceremony while it lasts: no copy of it is ever made */
  readonly ceremony: TableV2
  /** wraps the keyring; without it, encrypted items and batch tokens are lost */
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
    // nobody reads a stream of it
    this.data = table('Data')
    // it only wakes who keeps the journal: what is in a journal entry stays where it is
    this.cluster = table('Cluster', { dynamoStream: CLUSTER_STREAM })
    // nothing in it outlives an hour, so nothing is lost with it
    this.ceremony = new TableV2(this, 'Ceremony', {
      ...plain,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: false },
      removalPolicy: RemovalPolicy.DESTROY,
    })
    // Sparse: only entries of the access list and the deny list carry `due`. Tidy finds its work here.
    this.data.addGlobalSecondaryIndex({
      indexName: 'expiry',
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'due', type: AttributeType.NUMBER },
      projectionType: ProjectionType.INCLUDE,
      nonKeyAttributes: ['rev'],
    })
    // Sparse: items carry `bucket` while a journal is kept. What a bucket is the sum of is found here.
    this.data.addGlobalSecondaryIndex({
      indexName: 'tree',
      partitionKey: { name: 'bucket', type: AttributeType.STRING },
      sortKey: { name: 'pk', type: AttributeType.STRING },
      projectionType: ProjectionType.KEYS_ONLY,
    })
    this.encryptTables(settings.customerKeys?.tables)
    this.keepExports()
  }

  /** By a customer's key, where there is one. The CDK's own way would want a stack whose region is known. */
  private encryptTables(keyArn: string | undefined): void {
    if (keyArn === undefined) return
    for (const { node } of [this.data, this.cluster, this.ceremony])
      if (node.defaultChild instanceof CfnGlobalTable)
        node.defaultChild.addPropertyOverride('Replicas.0.SSESpecification', { KMSMasterKeyId: keyArn })
  }

  /** Exports by hand: while restored tables stand in for these, no stack imports them, and the CDK would drop the exports. */
  private keepExports(): void {
    for (const table of [this.data, this.cluster]) {
      this.exportValue(table.tableName)
      this.exportValue(table.tableArn)
    }
    if (this.key instanceof Key) this.exportValue(this.key.keyArn)
    new CfnOutput(this, STREAM_OUTPUT, { value: this.cluster.tableStreamArn ?? '' })
  }

  /**
   * ARN of the stream of the cluster's table, for another stack. No export: a value that is imported cannot change, and
   * that of a stream changes with its kind. Who reads it gets the new one when it is deployed next.
   */
  get clusterStreamArn(): string {
    return Fn.getStackOutput(this.stackName, STREAM_OUTPUT)
  }

  /** Fingerprint of the definition of the cluster's table. Where it stays the same, the table keeps its stream. */
  get clusterDefinition(): string {
    const { defaultChild } = this.cluster.node
    if (!(defaultChild instanceof CfnGlobalTable))
      throw new Error('the table of the cluster is no CfnGlobalTable')
    const definition = JSON.stringify(this.resolve(defaultChild._toCloudFormation()))
    return createHash('sha256').update(definition).digest('hex').slice(0, 16)
  }
}
