import { expect } from 'vitest'
import { type AdaptableTemplate, compareTemplates, templateAdaptations } from './adaptations.ts'

type Templates = Readonly<Record<string, AdaptableTemplate>>

/** Expects that tested templates differ from released templates only in resources that a row of the adaptations names. */
export function expectOnlyAdaptations(released: Templates, tested: Templates): void {
  const types = { dropped: new Set<string>(), changed: new Set<string>(), added: new Set<string>() }
  expect(Object.keys(tested)).toEqual(Object.keys(released))
  for (const [name, template] of Object.entries(released)) {
    const adapted = tested[name] ?? { Resources: {} }
    expect({ ...template, Resources: 0 }).toEqual({ ...adapted, Resources: 0 })
    for (const { released: before, tested: after } of compareTemplates(template, adapted)) {
      const kind = after === undefined ? 'dropped' : before === undefined ? 'added' : 'changed'
      types[kind].add((before ?? after)?.Type ?? '')
      if (before) expect(Object.values(templateAdaptations).some(row => row.concerns(before))).toBe(true)
    }
  }
  expect(types).toEqual({
    dropped: new Set(['AWS::Logs::QueryDefinition', 'AWS::CloudWatch::Alarm']),
    changed: new Set(['AWS::ApiGatewayV2::Api']),
    added: new Set(['AWS::ApiGatewayV2::Integration', 'AWS::ApiGatewayV2::Route']),
  })
}
