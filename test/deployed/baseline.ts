import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { checkoutRoot } from '../../infra/checkout.ts'

/** The earlier version from which deployments are updated. */
const { commit: recorded } = JSON.parse(readFileSync(`${checkoutRoot}.config/baseline.json`, 'utf8')) as {
  commit: string
}
/** The variable `BASELINE` names another commit. */
const baseline = process.env['BASELINE'] ?? recorded

/** Returns the files of the baseline as an archive. @throws Error if the commit is not in this clone */
function readBaseline(): Buffer {
  const words = ['archive', '--format=tar', '--end-of-options', baseline]
  const { status, stdout, stderr } = spawnSync('git', words, { cwd: checkoutRoot, maxBuffer: 2 ** 30 })
  if (status === 0) return stdout
  throw new Error(`the baseline ${baseline} is not in this clone. Fetch the whole history: ${stderr}`)
}

const LOCK = 'package-lock.json'

/**
 * Writes the files of the baseline to a folder of their own, with the packages of its lock file.
 * @returns the folder
 * @throws Error if the commit is not in this clone
 */
export function checkOutBaseline(): string {
  const folder = `${checkoutRoot}.build/baseline/`
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-x', '-C', folder], { input: readBaseline() })
  const [own, older] = [checkoutRoot, folder].map(one => readFileSync(`${one}${LOCK}`, 'utf8'))
  if (own === older) symlinkSync(`${checkoutRoot}node_modules`, `${folder}node_modules`)
  else execFileSync(process.execPath, [`${folder}.config/install.mjs`], { stdio: 'inherit' })
  return folder
}
