import { askOnce, refusalOf } from '../ask.ts'
import type { Connection } from '../connection.ts'
import { Ended } from '../ended.ts'

/** What the helper does for a command line: a text for its standard output, which is the token and nothing else. */
interface HelperPorts {
  base: string
  connection: Connection
  /** that the environment has */
  token: string | undefined
  logIn(): Promise<string>
  /** reads standard input to its end */
  drain(): Promise<void>
}

/**
 * One call of the token helper protocol. Nothing is kept: `get` gives the token of the environment as long as it counts,
 * else that of a new login; `store` and `erase` have nothing to do.
 * @throws Ended
 */
export async function helpWithToken(words: readonly string[], ports: HelperPorts): Promise<string> {
  const [word = '', ...more] = words
  if (more.length > 0 || !['get', 'store', 'erase'].includes(word))
    throw new Ended('usage', 'token-helper wants one word: get, store or erase')
  if (word === 'get') return tokenFor(ports)
  // who writes would be told of a pipe that nobody reads
  if (word === 'store') await ports.drain()
  return ''
}

async function tokenFor({ base, connection, token, logIn }: HelperPorts): Promise<string> {
  if (token === undefined) return logIn()
  const heard = await askOnce(base, 'auth/token/lookup-self', { token }, connection)
  if (heard.status === 200) return token
  if (heard.status === 403) return logIn()
  throw new Ended('refused', `auth/token/lookup-self: ${refusalOf(heard)}`)
}
