import type { CompiledForms } from '../forms.ts'
import { elementById } from './dom.ts'

/** The endpoints that forms of this page write to. The build compiles them from the endpoint table into the page. */
export const consoleForms = JSON.parse(
  elementById('forms', HTMLTemplateElement).content.textContent,
) as CompiledForms
