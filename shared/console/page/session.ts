import { readShape } from '../../values/read-shape.ts'
import { objectShape, textShape } from '../../values/shape.ts'
import { parseLoginJson } from '../explained.ts'
import { fillPath } from '../forms.ts'
import { askApi, faultText, ownApiUrl } from './ask.ts'
import { askFor } from './asking.ts'
import { elementById, inputById } from './dom.ts'
import { pageModel } from './model.ts'

/** Milliseconds without a click or a key after which the token of a login on this page is revoked. */
const IDLE_MS = 15 * 60_000

const loginShape = objectShape({ auth: objectShape({ client_token: textShape }) })

/** The token of a login on this page; empty: none. */
let loginToken = ''
let lastUse = 0

const noteUse = (): void => {
  lastUse = Date.now()
}

export const isLoggedIn = (): boolean => loginToken !== ''
export const isLoginIdle = (now: number): boolean => isLoggedIn() && now - lastUse >= IDLE_MS

/** Revokes the token of a login on this page. @returns what happened; empty: there was no login */
export async function endLogin(): Promise<string> {
  const token = loginToken
  if (token === '') return ''
  loginToken = ''
  const refused = await askApi(ownApiUrl, 'auth/token/revoke-self', { body: {}, token }).then(
    answer => answer.refused,
    faultText,
  )
  return refused === ''
    ? 'The token of the login was revoked.'
    : `The token of the login was not revoked, and stays valid until it expires: ${refused}`
}

/** Logs in with a pasted login. @param onLogin runs after the page has the token */
const logIn = (onLogin: () => void): Promise<void> =>
  askFor(
    'login',
    async () => {
      const read = parseLoginJson(elementById('login-json', HTMLTextAreaElement).value)
      if ('fault' in read) throw new Error(read.fault)
      const path = fillPath('auth/:mount/login', [inputById('login-mount').value])
      const answer = await askApi(ownApiUrl, path, { body: read.login })
      const token = readShape(loginShape, answer.body).fields.auth?.client_token ?? ''
      if (token === '') throw new Error(answer.refused || 'The answer has no token.')
      // every token is noted, even if a later login was started, so that it is revoked
      void endLogin()
      pageModel.token = token
      loginToken = token
      noteUse()
    },
    () => {
      elementById('login-json', HTMLTextAreaElement).value = ''
      onLogin()
    },
  )

/** Adds the handlers of the login form, and notes clicks and keys. */
export function bindSession(onLogin: () => void): void {
  elementById('login-form').addEventListener('submit', event => {
    event.preventDefault()
    void logIn(onLogin)
  })
  for (const name of ['click', 'keydown']) document.addEventListener(name, noteUse, true)
}
