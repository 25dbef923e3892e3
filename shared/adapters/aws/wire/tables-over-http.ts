import { crc32 } from 'node:zlib'
import { runtimeCredentials, type WireSettings, wireSettings } from '../environment.ts'
import { unreadable } from './service-error.ts'
import { type KeySource, retryAfterIn, type SignedPost, signedPosts } from './signed-posts.ts'
import type { TableEngine } from './tables.ts'

/** Where the tables are, where they are not where the runtime's variables say. */
export interface TablesAt {
  settings: WireSettings
  credentials: KeySource
}

/** The credentials of this process. @throws Error when it has none */
function ownCredentials() {
  const credentials = runtimeCredentials()
  if (!credentials) throw new Error('this process has no credentials')
  return credentials
}

/** The tables' engine over HTTP; where it is, is looked for when it is first asked. */
export function tablesOverHttp(at?: TablesAt): TableEngine {
  let posts: SignedPost | undefined
  return async ({ operation, input, invocation }, ms) => {
    posts ??= postsTo(at ?? { settings: wireSettings(), credentials: ownCredentials })
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`,
      'amz-sdk-invocation-id': invocation,
    }
    const answer = await posts(headers, JSON.stringify(input), ms)
    const { status: statusCode, body } = answer
    const retryAfterMs = retryAfterIn(answer)
    checkSum(answer.headers['x-amz-crc32'], body)
    return {
      statusCode,
      body: objectOf(body, statusCode),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    }
  }
}

const postsTo = ({ settings, credentials }: TablesAt): SignedPost =>
  signedPosts({ service: 'dynamodb', region: settings.region, settings, credentials })

/** @throws ServiceError when an answer was changed on its way */
function checkSum(sum: string | string[] | undefined, body: Buffer): void {
  if (sum !== undefined && Number(sum) !== crc32(body)) throw unreadable('an answer has not its checksum')
}

function objectOf(body: Buffer, status: number): object {
  try {
    const read: unknown = JSON.parse(body.toString('utf8'))
    if (typeof read === 'object' && read !== null) return read
  } catch {
    // what stands between us and the engine answers in its own way
    if (status !== 200) return {}
  }
  throw unreadable('an answer is no JSON')
}
