import { setTimeout } from 'node:timers/promises'

const { ADDRESS = '', MAX_AGE, PAUSE, TIMEOUT, LOGIN = '{}', CREDENTIALS = '{}' } = process.env

/** The client's settings. Times are in milliseconds. `login` is the body of a login request, as JSON. */
export const settings = {
  address: ADDRESS,
  maxAge: Number(MAX_AGE) * 1000,
  pause: Number(PAUSE) * 1000,
  timeout: Number(TIMEOUT) * 1000,
  login: LOGIN,
  credentials: JSON.parse(CREDENTIALS) as Record<string, string>,
}

/** A refusal or an error, as the client library throws it. */
interface Fault {
  /** status of the HTTP answer; absent: the client got no answer */
  status?: number | undefined
  code?: string
  name?: string
}

interface Client {
  /** @returns a token @throws Fault */
  login(): Promise<string>
  renew(token: string): Promise<unknown>
  /** closes all connections */
  anew(): void
}

const nameOf = ({ status, code, name }: Fault): string =>
  status ? `HTTP ${status}` : (code ?? name ?? 'error')

/** Renews a token and logs in, again and again, and prints a line for each request. */
export async function everyRound({ login, renew, anew }: Client): Promise<never> {
  let born = Date.now()
  let [token, first] = ['', true]
  const attempt = async <T>(op: string, work: Promise<T>): Promise<{ result?: T; fault?: Fault }> => {
    const done: { result?: T; fault?: Fault } = await work.then(
      result => ({ result }),
      (fault: Fault) => ({ fault }),
    )
    const error = done.fault ? nameOf(done.fault) : ''
    process.stdout.write(`${JSON.stringify({ op, error, first })}\n`)
    return done
  }
  for (;;) {
    if (settings.maxAge > 0 && Date.now() - born > settings.maxAge) {
      anew()
      born = Date.now()
    }
    if (token) {
      const { fault } = await attempt('renew', renew(token))
      if (fault?.status === 403) [token, first] = ['', false]
    }
    const { result } = await attempt('login', login())
    token ||= result ?? ''
    await setTimeout(settings.pause)
  }
}
