/// The reason why nothing can be measured.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    /// Creates an error.
    ///
    /// The description names the remedy.
    init(_ description: String) {
        self.description = description
    }
}
