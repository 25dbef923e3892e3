import * as v from 'valibot'

const keyArn = v.optional(
  v.pipe(
    v.string(),
    v.regex(
      /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[\w-]+$/,
      'must be the ARN of a KMS key, not of an alias',
    ),
  ),
)

/** A tag name that every AWS service accepts: the common subset of the services' rules. */
const tagName = v.pipe(
  v.string(),
  v.regex(
    /^(?!aws:)[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/iu,
    'tag names must be 1 to 128 letters, digits and "_.:/=+-@", and must not begin with "aws:"',
  ),
)
const tagValue = v.pipe(
  v.string(),
  v.regex(
    /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$/u,
    'tag values must be at most 256 letters, digits and "_.:/=+-@"',
  ),
)

/**
 * Maximum number of tags that the settings may name. AWS allows 50 tags per resource, and CloudFormation adds some
 * tags of its own.
 */
const MOST_TAGS = 40

/**
 * Minimum minutes of a canary. The alarms that roll back need three periods of five minutes, so a shorter
 * canary would end before these alarms can react.
 */
const LEAST_MINUTES = 15

/** Maximum number of accounts in `instanceEvents`. EventBridge allows 2,048 characters in a rule's pattern. */
const MOST_EVENT_ACCOUNTS = 100

/** Settings about the accounts of a deployment: what its own account requires of it, and which others send events. */
export const accountSettingFields = {
  /**
   * KMS keys that replace AWS's keys and the key that the data stack creates. Set `keyring` for new clusters only:
   * an existing cluster's keyring can only be unwrapped by the key that wrapped it.
   */
  customerKeys: v.optional(
    v.strictObject({
      /** wraps the keyring; the data stack then creates no key */
      keyring: keyArn,
      /** encrypts the tables */
      tables: keyArn,
      /** encrypts log groups, and the queue of undelivered audit entries */
      logs: keyArn,
    }),
  ),
  /** ARN of the managed policy that is the permissions boundary of every role */
  permissionsBoundaryArn: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^arn:aws[a-z-]*:iam::(?:aws|\d{12}):policy\/[\w+=,.@/-]+$/,
        'must be the ARN of a managed policy',
      ),
    ),
  ),
  /** tags of every taggable resource */
  tags: v.optional(
    v.pipe(
      v.record(tagName, tagValue),
      v.check(tags => Object.keys(tags).length <= MOST_TAGS, `must have at most ${MOST_TAGS} tags`),
    ),
  ),
  /** prefix of SSM parameter names; with it, each output of the API stack is written to a parameter */
  parameterPrefix: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^(?!\/(?:aws|ssm)(?:\/|$))(?:\/[\w.-]+){1,10}$/i,
        'must be a path such as /cloud-auth/prod, and must not begin with "/aws" or "/ssm"',
      ),
      v.maxLength(500, 'must have at most 500 characters'),
    ),
  ),
  /**
   * a new version of a function first gets this percentage of calls for this many minutes, then all of them. An alarm
   * during that time rolls the deployment back.
   */
  canary: v.optional(
    v.strictObject({
      percent: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(99)), 10),
      minutes: v.optional(
        v.pipe(
          v.number(),
          v.integer(),
          v.minValue(
            LEAST_MINUTES,
            `must be at least ${LEAST_MINUTES}, because the alarms need that long to notice a failure`,
          ),
          v.maxValue(2880),
        ),
        LEAST_MINUTES,
      ),
    }),
  ),
  /**
   * ends the tokens of terminated instances at roles with `revoke_on_termination`. `accounts`: other accounts that
   * forward the ends of their instances to the default event bus of this account
   */
  instanceEvents: v.optional(
    v.strictObject({
      accounts: v.optional(
        v.pipe(
          v.array(v.pipe(v.string(), v.regex(/^\d{12}$/, 'must be an account ID of 12 digits'))),
          v.maxLength(MOST_EVENT_ACCOUNTS, `must name at most ${MOST_EVENT_ACCOUNTS} accounts`),
        ),
        [],
      ),
    }),
  ),
}

/** Other settings that the rules for account settings read. */
interface Others {
  canary?: object | undefined
  webLogins?: object | undefined
  customerKeys?: { keyring?: string | undefined } | undefined
  restored?: { keyArn?: string | undefined } | undefined
}

/**
 * Returns the faults of account settings in combination with other settings, each with the name of its
 * setting.
 */
export function findAccountSettingFaults({ canary, webLogins, customerKeys, restored }: Others): string[] {
  return [
    ...(canary && webLogins
      ? ['canary: cannot be used with webLogins, because a Web Function has no canaries']
      : []),
    ...(customerKeys?.keyring && restored?.keyArn
      ? ['customerKeys: keyring cannot be used with restored.keyArn, which names the key already']
      : []),
  ]
}
