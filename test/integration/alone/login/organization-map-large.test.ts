import { afterAll, expect, test } from 'vitest'
import { accountAt, ORGANIZATION, organizationHost, ROOT } from '../../../support/requests/organization.ts'
import { clock } from '../../../support/service/clock.ts'

const ACCOUNTS = 10_000

afterAll(clock.reset)

test('the first round of ten thousand accounts makes fewer than fifty commits a second', async () => {
  const at = await organizationHost(ACCOUNTS, index => `${ROOT}/ou-ab12-${11_111_111 + (index % 100)}`, 600)
  const { path } = await at.mountAt()
  const before = clock.now()
  const commits = await at.commitsDuring(() => at.configure(path))
  const seconds = (clock.now() - before) / 1000
  process.stdout.write(
    `first round of ${ACCOUNTS} accounts: ${commits} commits in ${Math.round(seconds)} s\n`,
  )
  expect(await at.stateOf(path)).toMatchObject({ accounts: ACCOUNTS + 1, last_error: '' })
  expect(commits / seconds).toBeLessThan(50)
  expect(commits).toBeLessThan(520)
  const role = await at.roleAt(path, { bound_organization_id: ORGANIZATION })
  expect(await at.login(path, role, accountAt(ACCOUNTS - 1))).toBe('200')
})
