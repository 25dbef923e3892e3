import { answer, type Call, type CallOutcome, callerOf, dataAnswer } from '../api/call.ts'
import type { ParameterRules, PolicyRule } from '../model/policy.ts'
import { defined } from '../values/defined.ts'

/**
 * Handles GET sys/internal/ui/resultant-acl: returns the caller's rules by path, for graphical clients. Omits rules with `+`, as Vault
 * does.
 */
export function showResultantAcl(call: Call): CallOutcome {
  const { root, rules } = callerOf(call).rights
  if (root) return answer(dataAnswer({ root, chroot_namespace: '' }))
  const shown = rules.filter(({ path }) => !path.includes('+'))
  const globs = shown.filter(({ path }) => path.endsWith('*'))
  const others = shown.filter(({ path }) => !path.endsWith('*'))
  return answer(
    dataAnswer({
      root,
      exact_paths: Object.fromEntries(others.map(rule => [rule.path, shownOf(rule)])),
      glob_paths: Object.fromEntries(globs.map(rule => [rule.path.slice(0, -1), shownOf(rule)])),
      chroot_namespace: '',
    }),
  )
}

const shownOf = ({ capabilities, allowed, denied, required, minWrapping, maxWrapping }: PolicyRule) =>
  defined({
    capabilities: capabilities.size > 0 ? [...capabilities].sort() : ['deny'],
    allowed_parameters: filled(allowed),
    denied_parameters: filled(denied),
    required_parameters: required.length > 0 ? required : undefined,
    min_wrapping_ttl: minWrapping || undefined,
    max_wrapping_ttl: maxWrapping || undefined,
  })

const filled = (rules: ParameterRules): ParameterRules | undefined =>
  Object.keys(rules).length > 0 ? rules : undefined
