/** The schema of CycloneDX, as its own library has it. */
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";

/** What is wrong with a list of parts, unknown fields included; null where nothing is. */
export function validateParts(list: unknown): Promise<unknown> {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  return validator.validate(JSON.stringify(list));
}
