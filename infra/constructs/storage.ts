import { Stack } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import type { Settings } from '../settings.ts'
import type { DataStack } from '../stacks/data.ts'

interface TableNames {
  tableArn: string
  tableName: string
  /** of the stream; undefined: it has none */
  tableStreamArn?: string | undefined
  /** of the stream's table: a text that changes with its definition */
  streamDefinition?: string
}

/** Tables and key that functions work with. */
export interface Storage {
  /** everything that a DR secondary must have */
  data: TableNames
  /** what belongs to this cluster alone */
  cluster: TableNames
  /** secrets of a ceremony while it lasts */
  ceremony: TableNames
  /** wraps the keyring */
  key: { keyArn: string }
}

/** The data stack's own tables and key, but for those that the settings name instead. */
export function resolveStorage(scope: Construct, { restored }: Settings, own: DataStack): Storage {
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
    // nothing in it is worth restoring
    ceremony: own.ceremony,
    key: restored.keyArn === undefined ? own.key : { keyArn: restored.keyArn },
  }
}
