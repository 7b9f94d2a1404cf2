/// A word of Stripe's vocabulary that may grow: known words compare equal in any letter case, unknown ones
/// survive unchanged.
///
/// The SDKs match case-insensitively too; an unknown word is data to pass on, never an error.
public protocol OpenValue: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible
where RawValue == String {
    /// The words known when this library was written, in lower case.
    static var known: Set<String> { get }

    /// Wraps a word; a known one is folded to lower case.
    init(rawValue: String)
}

extension OpenValue {
    /// Whether the word is one of ``known``.
    public var isKnown: Bool { Self.known.contains(rawValue) }

    /// The word itself.
    public var description: String { rawValue }

    /// The word as it is stored: folded when known.
    static func folded(_ word: String) -> String {
        if known.contains(word) { return word }
        let lower = word.lowercased()
        return known.contains(lower) ? lower : word
    }
}
