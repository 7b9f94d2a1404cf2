import ArgumentParser

/// The option that selects event types.
struct TypesOption: ParsableArguments {
    @Option(help: "Only these types, comma-separated: source.chargeable, source.*.")
    var types: String?

    var list: [String] { types?.split(separator: ",").map(String.init) ?? [] }

    /// Throws `ValidationError` for types that no event has.
    func check() throws {
        for type in list where !type.contains(".") {
            throw ValidationError(
                "--types takes event types such as source.chargeable or source.*, not \(type)"
            )
        }
        try KnownValues.check(types: list)
    }
}
