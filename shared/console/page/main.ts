import { formatTimeSpan } from '../../values/words.ts'
import { bindAdministration } from './admin.ts'
import { clearResult } from './asking.ts'
import { showClusters } from './clusters.ts'
import { elementById, inputById, refreshAges, showText } from './dom.ts'
import { bindLoginForms, forgetLogins } from './logins.ts'
import { bindReportButton, showExpiries, showShellCommands } from './looks.ts'
import { observeOwnCluster, observePeerCluster, pageModel, readPageSettings } from './model.ts'
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
  pageModel.token = token.value.trim() || pageModel.token
  pageModel.operationToken = operationToken.value.trim() || pageModel.operationToken
  token.value = ''
  operationToken.value = ''
  sayTokens()
}

function forgetTokens(): void {
  Object.assign(pageModel, {
    token: '',
    operationToken: '',
    readiness: undefined,
    certificates: [],
    lagHistory: [],
  })
  for (const id of ['token', 'operation-token']) inputById(id).value = ''
  forgetLogins()
  for (const name of ['roles', 'role', 'policies', 'policy', 'report']) clearResult(name)
  sayTokens()
}

function sayTokens(): void {
  const held = [pageModel.token && 'a token', pageModel.operationToken && 'a DR operation token'].filter(
    Boolean,
  )
  showText(
    'access-said',
    held.length === 0 ? 'This page holds no token.' : `This page holds ${held.join(' and ')}.`,
  )
  showAll()
}

elementById('access-form').addEventListener('submit', useTokens)
elementById('forget').addEventListener('click', forgetTokens)
bindSwitchButtons()
bindReportButton()
bindAdministration()
bindLoginForms()
sayTokens()
setInterval(() => {
  const now = Date.now()
  showRoleSwitch(now)
  refreshAges(formatTimeSpan, now)
}, CLOCK_TICK_MS)
await readPageSettings()
await Promise.all([observeForever(observeOwnCluster), observeForever(observePeerCluster)])
