import { printSpan } from '../../values/words.ts'
import { showClusters } from './clusters.ts'
import { byId, input, refreshAges, replaceContent, showText } from './dom.ts'
import { bindLooks, showCommands, showEnds } from './looks.ts'
import { model, observeOwn, observePeer, readPageSettings } from './model.ts'
import { bindSwitch, showSwitch } from './switch.ts'

/** Milliseconds between two observations of both clusters. A hidden page sends no requests. */
const REFRESH_PAUSE_MS = 2000
const HURRIED_PAUSE_MS = 300
const WAIT_SLICE_MS = 100
const CLOCK_TICK_MS = 1000

function showAll(): void {
  const now = Date.now()
  showClusters(now)
  showSwitch(now)
  showEnds(now)
  showCommands()
  refreshAges(printSpan, now)
}

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Observes a cluster repeatedly, and more often while a promotion ordered here runs. */
async function observeForever(look: () => Promise<void>): Promise<void> {
  for (;;) {
    if (!document.hidden) await look()
    showAll()
    for (
      let waited = 0;
      waited < (model.isPromotionOrdered ? HURRIED_PAUSE_MS : REFRESH_PAUSE_MS);
      waited += WAIT_SLICE_MS
    )
      await sleep(WAIT_SLICE_MS)
  }
}

/** Keeps tokens in this page's memory only, and empties the input fields at once. */
function useTokens(event: Event): void {
  event.preventDefault()
  const [token, operationToken] = [input('token'), input('operation-token')]
  model.token = token.value.trim() || model.token
  model.operationToken = operationToken.value.trim() || model.operationToken
  token.value = ''
  operationToken.value = ''
  sayTokens()
}

function forgetTokens(): void {
  Object.assign(model, { token: '', operationToken: '', readiness: undefined, certificates: [] })
  for (const id of ['token', 'operation-token']) input(id).value = ''
  // a signed login is a secret while it is valid
  byId('explain-login', HTMLTextAreaElement).value = ''
  for (const id of ['roles-shown', 'role-shown', 'report-shown', 'explain-shown'])
    replaceContent(byId(id), 'nothing', () => [])
  sayTokens()
}

function sayTokens(): void {
  const held = [model.token && 'a token', model.operationToken && 'a DR operation token'].filter(Boolean)
  showText(
    'access-said',
    held.length === 0 ? 'This page holds no token.' : `This page holds ${held.join(' and ')}.`,
  )
  showAll()
}

byId('access-form').addEventListener('submit', useTokens)
byId('forget').addEventListener('click', forgetTokens)
bindSwitch()
bindLooks()
sayTokens()
setInterval(() => {
  const now = Date.now()
  showSwitch(now)
  refreshAges(printSpan, now)
}, CLOCK_TICK_MS)
await readPageSettings()
await Promise.all([observeForever(observeOwn), observeForever(observePeer)])
