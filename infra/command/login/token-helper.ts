import { describeRefusal, sendRequest } from '../ask.ts'
import type { ApiConnection } from '../connection.ts'
import { CommandEnded } from '../ended.ts'

/** Ports of the token helper, which prints only the token on standard output. */
interface HelperPorts {
  base: string
  connection: ApiConnection
  /** token from the environment */
  token: string | undefined
  logIn(): Promise<string>
  /** reads standard input to its end */
  drain(): Promise<void>
}

/**
 * Runs one call of the token helper protocol. The helper stores nothing: `get` returns the environment's
 * token while it is valid, else the token of a new login; `store` and `erase` do nothing.
 * @throws CommandEnded
 */
export async function runTokenHelper(words: readonly string[], ports: HelperPorts): Promise<string> {
  const [word = '', ...more] = words
  if (more.length > 0 || !['get', 'store', 'erase'].includes(word))
    throw new CommandEnded('usage', 'token-helper needs exactly one word: get, store or erase')
  if (word === 'get') return getToken(ports)
  // reads the token that the client writes, because the client would otherwise get a broken pipe
  if (word === 'store') await ports.drain()
  return ''
}

async function getToken({ base, connection, token, logIn }: HelperPorts): Promise<string> {
  if (token === undefined) return logIn()
  const heard = await sendRequest(base, 'auth/token/lookup-self', { token }, connection)
  if (heard.status === 200) return token
  if (heard.status === 403) return logIn()
  throw new CommandEnded('refused', `auth/token/lookup-self: ${describeRefusal(heard)}`)
}
