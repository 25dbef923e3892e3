import type { EndpointGroup } from '../api/endpoint.ts'
import { auditGroup } from './audit.ts'
import { ceremonyGroup } from './ceremony.ts'
import { configGroup } from './config.ts'
import { explainGroup } from './explain.ts'
import { generateRootGroup } from './generate-root.ts'
import { identityGroup } from './identity.ts'
import { initGroup } from './init.ts'
import { keysGroup } from './keys.ts'
import { listsGroup } from './lists.ts'
import { loginGroup } from './login.ts'
import { mountsGroup } from './mounts.ts'
import { policiesGroup } from './policies.ts'
import { rekeyGroup } from './rekey.ts'
import { renewalGroup } from './renewal.ts'
import { replicationGroup } from './replication.ts'
import { rolesGroup } from './roles.ts'
import { rotateRootGroup } from './rotate-root.ts'
import { systemGroup } from './system.ts'
import { tidyGroup } from './tidy.ts'
import { tokensGroup } from './tokens.ts'
import { wrappingGroup } from './wrapping.ts'

/** Every group of endpoints. Routes, grants, functions, OpenAPI and tests are built from this list. */
export const endpointGroups: readonly EndpointGroup[] = [
  loginGroup,
  configGroup,
  rotateRootGroup,
  rolesGroup,
  explainGroup,
  listsGroup,
  tidyGroup,
  tokensGroup,
  renewalGroup,
  wrappingGroup,
  identityGroup,
  mountsGroup,
  policiesGroup,
  auditGroup,
  keysGroup,
  systemGroup,
  replicationGroup,
  initGroup,
  ceremonyGroup,
  generateRootGroup,
  rekeyGroup,
]
