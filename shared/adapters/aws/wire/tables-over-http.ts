import { crc32 } from 'node:zlib'
import { ownCredentials, type WireSettings, wireSettings } from '../environment.ts'
import { jsonAnswer } from './json.ts'
import type { WireAnswer } from './post.ts'
import { unreadable } from './service-error.ts'
import { type KeySource, type SignedPost, signedPosts } from './signed-posts.ts'
import type { TableEngine } from './tables.ts'

/** Where the tables are, where they are not where the runtime's variables say. */
export interface TablesAt {
  settings: WireSettings
  credentials: KeySource
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
    checkSum(answer)
    return jsonAnswer(answer)
  }
}

const postsTo = ({ settings, credentials }: TablesAt): SignedPost =>
  signedPosts({ service: 'dynamodb', settings, credentials })

/** @throws ServiceError when an answer was changed on its way */
function checkSum({ headers, body }: WireAnswer): void {
  const { 'x-amz-crc32': sum } = headers
  if (sum !== undefined && Number(sum) !== crc32(body)) throw unreadable('an answer has not its checksum')
}
