import type { CompiledForms } from '../forms.ts'

/** The build of the page replaces this name by the forms that it compiles from the endpoint table. */
declare const COMPILED_FORMS: CompiledForms

/** The endpoints that forms of this page write to, with their fields. */
export const consoleForms: CompiledForms = COMPILED_FORMS
