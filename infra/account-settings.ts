import * as v from 'valibot'

const keyArn = v.optional(
  v.pipe(
    v.string(),
    v.regex(
      /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[\w-]+$/,
      'must be the ARN of a key, and not of an alias',
    ),
  ),
)

/** A tag that IAM and Lambda take, too: the narrowest of all. */
const tagName = v.pipe(
  v.string(),
  v.regex(
    /^(?!aws:)[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/iu,
    'must have names of 1 to 128 letters, digits and "_.:/=+-@", not beginning with "aws:"',
  ),
)
const tagValue = v.pipe(
  v.string(),
  v.regex(/^[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$/u, 'must have values of 256 such characters at most'),
)

/** Most tags that a resource takes, less those that CloudFormation adds. */
const MOST_TAGS = 40

/** Alarms that roll back look at three periods of five minutes: whoever is faster than they are is not rolled back. */
const LEAST_MINUTES = 15

/** Settings of what an account wants of everything that is deployed into it. */
export const accountFields = {
  /**
   * keys of KMS that stand in for AWS's, and for the one that the data stack makes. `keyring` is for a new cluster: one that
   * is there opens its keyring by the key that it was made with
   */
  customerKeys: v.optional(
    v.strictObject({
      /** wraps the keyring: the data stack makes no key */
      keyring: keyArn,
      /** encrypts the tables */
      tables: keyArn,
      /** encrypts log groups, and the queue of audit entries that could not be carried */
      logs: keyArn,
    }),
  ),
  /** managed policy that bounds what every role may do */
  permissionsBoundaryArn: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^arn:aws[a-z-]*:iam::(?:aws|\d{12}):policy\/[\w+=,.@/-]+$/,
        'must be the ARN of a managed policy',
      ),
    ),
  ),
  /** tags of everything that takes some */
  tags: v.optional(
    v.pipe(
      v.record(tagName, tagValue),
      v.check(tags => Object.keys(tags).length <= MOST_TAGS, `must be ${MOST_TAGS} at most`),
    ),
  ),
  /** what names of SSM parameters begin with, of which there is then one for each output of the API */
  parameterPrefix: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^(?!\/(?:aws|ssm)(?:\/|$))(?:\/[\w.-]+){1,10}$/i,
        'must be a path such as /cloud-auth/prod, and not begin with "/aws" or "/ssm"',
      ),
      v.maxLength(500, 'must have 500 characters at most'),
    ),
  ),
  /**
   * a new version of a function takes so many percent of its calls for so many minutes, and all of them then; an alarm
   * meanwhile gives everything back to the version before
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
            `must be ${LEAST_MINUTES} at least: alarms need that long to see what is wrong`,
          ),
          v.maxValue(2880),
        ),
        LEAST_MINUTES,
      ),
    }),
  ),
}

/** What else faults may be about. */
interface Others {
  canary?: object | undefined
  webLogins?: object | undefined
  customerKeys?: { keyring?: string | undefined } | undefined
  restored?: { keyArn?: string | undefined } | undefined
}

/** What is wrong with these settings beside others: a text for each fault, with the name of its setting. */
export function findAccountFaults({ canary, webLogins, customerKeys, restored }: Others): string[] {
  return [
    ...(canary && webLogins ? ['canary: a Web Function has none, and logins run in one'] : []),
    ...(customerKeys?.keyring && restored?.keyArn
      ? ['customerKeys: keyring says nothing beside the keyArn of restored']
      : []),
  ]
}
