/// What a store did otherwise than the seams say.
package struct ConformanceFailure: Error, CustomStringConvertible {
    /// What was expected and what came.
    package let message: String

    package var description: String { message }
}
