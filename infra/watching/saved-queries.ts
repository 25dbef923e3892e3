import { CfnQueryDefinition, type LogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import type { Settings } from '../settings.ts'
import { type SavedLogQuery, savedLogQueries } from './queries.ts'

interface SavedQueriesProps extends Record<SavedLogQuery['group'], LogGroup> {
  settings: Settings
}

/**
 * Saved queries of CloudWatch Logs Insights under the deployment's name. Each run of a query costs as much as
 * the log data that it reads.
 */
export class SavedQueries extends Construct {
  constructor(scope: Construct, id: string, { settings, ...groups }: SavedQueriesProps) {
    super(scope, id)
    for (const [name, { group, query }] of Object.entries<SavedLogQuery>(savedLogQueries))
      new CfnQueryDefinition(this, name, {
        name: `cloud-auth-${settings.stage}/${name}`,
        queryString: query.join('\n| '),
        logGroupNames: [groups[group].logGroupName],
      })
  }
}
