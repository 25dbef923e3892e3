import { stageOfRun } from './names.ts'

/** The stage of the released templates. */
const RELEASED_STAGE = /\bcloud-auth([-/])prod\b/g
/** The shortest wait before KMS deletes a key, in days. */
export const KEY_DAYS = 7

interface TemplateResource {
  Type: string
  DeletionPolicy?: string
  UpdateReplacePolicy?: string
  Properties?: Record<string, unknown>
}

type Properties = Record<string, unknown>

/** The properties that a run replaces, by type of resource. */
const replaced: Readonly<Record<string, (properties: Properties) => Properties>> = {
  'AWS::DynamoDB::GlobalTable': ({ Replicas }) => ({
    Replicas: (Replicas as Properties[]).map(one => ({ ...one, DeletionProtectionEnabled: false })),
  }),
  'AWS::KMS::Key': () => ({ PendingWindowInDays: KEY_DAYS }),
  'AWS::Events::Rule': ({ ScheduleExpression }) =>
    ScheduleExpression === undefined ? {} : { State: 'DISABLED' },
}

/**
 * Prepares a released template for a run: the run's stage, no protection, and no schedules, so that nothing of a run
 * continues to work or resists its deletion.
 */
export function prepareTemplate(text: string, run: string, isPeer = false): string {
  const template = JSON.parse(text.replaceAll(RELEASED_STAGE, `cloud-auth$1${stageOfRun(run, isPeer)}`)) as {
    Resources: Record<string, TemplateResource>
  }
  for (const resource of Object.values(template.Resources)) {
    const { Type, Properties = {} } = resource
    for (const policy of ['DeletionPolicy', 'UpdateReplacePolicy'] as const)
      if (resource[policy] !== undefined) resource[policy] = 'Delete'
    const more = replaced[Type]?.(Properties)
    if (more !== undefined) resource.Properties = { ...Properties, ...more }
  }
  return JSON.stringify(template)
}

/** Builds the template of the run's bucket. The bucket is private, and deletes its objects after a day. */
export const buildAssetsTemplate = (): string =>
  JSON.stringify({
    Resources: {
      Bucket: {
        Type: 'AWS::S3::Bucket',
        DeletionPolicy: 'Delete',
        Properties: {
          PublicAccessBlockConfiguration: {
            BlockPublicAcls: true,
            BlockPublicPolicy: true,
            IgnorePublicAcls: true,
            RestrictPublicBuckets: true,
          },
          LifecycleConfiguration: { Rules: [{ Status: 'Enabled', ExpirationInDays: 1 }] },
        },
      },
    },
    Outputs: { Bucket: { Value: { Ref: 'Bucket' } } },
  })
