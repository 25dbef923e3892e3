import { formatTimeSpan } from '../../values/words.ts'
import { bindAdministration } from './admin.ts'
import { clearResult } from './asking.ts'
import { showClusters } from './clusters.ts'
import { elementById, inputById, refreshAges, showText } from './dom.ts'
import { bindLoginForms, forgetLogins } from './logins.ts'
import { bindReportButton, showExpiries, showShellCommands } from './looks.ts'
import { observeOwnCluster, observePeerCluster, pageModel, readPageSettings } from './model.ts'
import { bindSession, endLogin, isLoggedIn, isLoginIdle } from './session.ts'
import { bindSwitchButtons, showRoleSwitch } from './switch.ts'

/** Milliseconds between two observations of both clusters. A hidden page sends no requests. */
const REFRESH_PAUSE_MS = 2000
const HURRIED_PAUSE_MS = 300
const WAIT_SLICE_MS = 100
const CLOCK_TICK_MS = 1000

function showAll(): void {
  const now = Date.now()
  showClusters(now)
  showRoleSwitch(now)
  showExpiries(now)
  showShellCommands()
  refreshAges(formatTimeSpan, now)
}

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Observes a cluster repeatedly, and more often while a promotion ordered here runs. */
async function observeForever(look: () => Promise<void>): Promise<void> {
  for (;;) {
    if (!document.hidden) await look()
    showAll()
    for (
      let waited = 0;
      waited < (pageModel.isPromotionOrdered ? HURRIED_PAUSE_MS : REFRESH_PAUSE_MS);
      waited += WAIT_SLICE_MS
    )
      await sleep(WAIT_SLICE_MS)
  }
}

/** Keeps tokens in this page's memory only, and empties the input fields at once. */
function useTokens(event: Event): void {
  event.preventDefault()
  const [token, operationToken] = [inputById('token'), inputById('operation-token')]
  if (token.value.trim() !== '') void endLogin()
  pageModel.token = token.value.trim() || pageModel.token
  pageModel.operationToken = operationToken.value.trim() || pageModel.operationToken
  token.value = ''
  operationToken.value = ''
  sayTokens()
}

/** Forgets everything that tokens have shown here, and revokes the token of a login. */
async function forgetTokens(): Promise<void> {
  Object.assign(pageModel, {
    token: '',
    operationToken: '',
    readiness: undefined,
    certificates: [],
    lagHistory: [],
  })
  for (const id of ['token', 'operation-token']) inputById(id).value = ''
  forgetLogins()
  for (const name of ['roles', 'review', 'role', 'policies', 'policy', 'accessor', 'report'])
    clearResult(name)
  const ending = endLogin()
  sayTokens()
  const outcome = await ending
  if (outcome !== '') showText('access-said', outcome)
}

function sayTokens(): void {
  const token = isLoggedIn()
    ? 'the token of a login, which Forget, or 15 minutes without a click or key, revokes'
    : 'a token'
  const held = [pageModel.token && token, pageModel.operationToken && 'a DR operation token'].filter(Boolean)
  showText(
    'access-said',
    held.length === 0 ? 'This page holds no token.' : `This page holds ${held.join(' and ')}.`,
  )
  showAll()
}

elementById('access-form').addEventListener('submit', useTokens)
elementById('forget').addEventListener('click', () => void forgetTokens())
bindSwitchButtons()
bindReportButton()
bindAdministration()
bindLoginForms()
bindSession(sayTokens)
sayTokens()
setInterval(() => {
  const now = Date.now()
  if (isLoginIdle(now)) void forgetTokens()
  showRoleSwitch(now)
  refreshAges(formatTimeSpan, now)
}, CLOCK_TICK_MS)
await readPageSettings()
await Promise.all([observeForever(observeOwnCluster), observeForever(observePeerCluster)])
