import { Stack } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import type { Settings } from '../settings.ts'
import type { DataStack } from '../stacks/data.ts'

interface TableNames {
  tableArn: string
  tableName: string
  /** ARN of the stream; undefined: the cluster table has no stream */
  tableStreamArn?: string | undefined
  /** hash of the table's definition, which changes with the stream */
  streamDefinition?: string
}

/** The tables and the key that functions use. */
export interface StorageResources {
  /** data that a DR secondary replicates */
  data: TableNames
  /** data of this cluster only */
  cluster: TableNames
  /** secrets of a running ceremony */
  ceremony: TableNames
  /** wraps the keyring */
  key: { keyArn: string }
}

/** Returns the data stack's tables and key, or the restored tables and key that the settings name. */
export function resolveStorage(scope: Construct, { restored }: Settings, own: DataStack): StorageResources {
  if (!restored)
    return {
      data: own.data,
      ceremony: own.ceremony,
      key: own.key,
      cluster: {
        tableName: own.cluster.tableName,
        tableArn: own.cluster.tableArn,
        tableStreamArn: own.clusterStreamArn,
        streamDefinition: own.clusterDefinition,
      },
    }
  const table = (tableName: string): TableNames => ({
    tableName,
    tableArn: Stack.of(scope).formatArn({ service: 'dynamodb', resource: 'table', resourceName: tableName }),
  })
  return {
    data: table(restored.dataTable),
    cluster: { ...table(restored.clusterTable), tableStreamArn: restored.clusterStreamArn },
    // restored tables include no ceremony table, because its secrets expire within an hour
    ceremony: own.ceremony,
    key: restored.keyArn === undefined ? own.key : { keyArn: restored.keyArn },
  }
}
