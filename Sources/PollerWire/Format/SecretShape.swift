/// A secret passed as an ID: a client secret, an API key or a signing secret.
///
/// The client secret of an intent begins with the intent's ID, so callers often pass it as the ID. IDs are sent in
/// URLs, stored and logged, and secrets must not be. So every function that accepts an ID checks it with this type
/// first.
///
/// *Source*: <https://docs.stripe.com/keys>, <https://docs.stripe.com/api/payment_intents/object>.
package enum SecretShape: Hashable, Sendable {
    /// A client secret, `pi_…_secret_…`, with the ID it begins with; `nil` for `src_client_secret_…`, which has none.
    case clientSecret(of: String?)
    /// An API key (`sk_…`, `rk_…`) or the signing secret of a webhook endpoint (`whsec_…`).
    case key

    /// The prefixes that no ID may have.
    private static let beginnings = ["sk_", "rk_", "whsec_"]
    /// The substrings that no ID or name may contain.
    ///
    /// `sk_live_…` inside a URL is also a key.
    private static let marks = [
        "sk_live_", "sk_test_", "sk_org_", "rk_live_", "rk_test_", "pk_live_", "pk_test_",
        "ek_live_", "ek_test_", "whsec_",
    ]
    private static let clientMark = "_secret_"
    /// The ID prefixes of objects with a client secret.
    private static let owners = ["pi_", "seti_", "src_", "cs_"]

    /// Detects the secret that `text` is or contains; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - text: the text as given, unchecked.
    ///   - isName: whether a person chose the text, such as the name of an account or order. A name may begin with
    ///     `sk_`.
    package init?(_ text: some StringProtocol, isName: Bool = false) {
        guard Self.mayHaveMark(text) else { return nil }
        let folded = text.lowercased().drop { $0.isWhitespace }
        let isOfStripe = Self.owners.contains { Self.hasWord($0, in: folded) }
        if let mark = folded.firstRange(of: Self.clientMark), isOfStripe || !isName {
            self = .clientSecret(of: Self.id(before: mark.lowerBound, in: folded, of: text))
            return
        }
        let isKey =
            Self.marks.contains { Self.hasWord($0, in: folded) }
            || !isName && Self.beginnings.contains { folded.hasPrefix($0) }
        guard isKey else { return nil }
        self = .key
    }

    /// Returns `false` only if the text has none of the marks and beginnings.
    ///
    /// Nearly all IDs need no more than this pass over their bytes. Each mark and beginning contains `k_`, `ec_` or `_s`.
    /// A text outside ASCII is always examined, because the lower case of U+212A is `k`.
    private static func mayHaveMark(_ text: some StringProtocol) -> Bool {
        var (beforeLast, last) = (UInt8(0), UInt8(0))
        for byte in text.utf8 {
            guard byte < 0x80 else { return true }
            // The lower case of a letter. Digits and signs do not become letters by it.
            let folded = byte == UInt8(ascii: "_") ? byte : byte | 0x20
            switch (beforeLast, last, folded) {
            case (_, UInt8(ascii: "k"), UInt8(ascii: "_")),
                (UInt8(ascii: "e"), UInt8(ascii: "c"), UInt8(ascii: "_")),
                (_, UInt8(ascii: "_"), UInt8(ascii: "s")):
                return true
            default: (beforeLast, last) = (last, folded)
            }
        }
        return false
    }

    /// Returns whether a word of the text begins with the mark.
    ///
    /// `task_test_1` is not a key.
    private static func hasWord(_ mark: String, in text: Substring) -> Bool {
        text.ranges(of: mark).contains { range in
            guard range.lowerBound > text.startIndex else { return true }
            let before = text[text.index(before: range.lowerBound)]
            return !before.isLetter && !before.isNumber
        }
    }

    /// Returns the ID at the start of a client secret; `nil` if the text before the mark is not an ID.
    private static func id(
        before end: Substring.Index,
        in folded: Substring,
        of text: some StringProtocol
    ) -> String? {
        let length = folded[..<end].utf8.count
        let given = text.drop { $0.isWhitespace }.utf8.prefix(length)
        let isID =
            Self.owners.dropLast().contains { folded.hasPrefix($0) }
            && folded[..<end] != "src_client"
            && given.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
            }
        return isID ? String(decoding: given, as: UTF8.self) : nil
    }

    /// The error and the correct input, without any part of the secret.
    ///
    /// Follows "source" or "this".
    package var advice: String {
        switch self {
        case .clientSecret(let id?):
            "is the client secret of \(id), not an id: give \(id), and the secret as client_secret "
                + "where it is needed"
        case .clientSecret(nil):
            "is a client secret, not an id: give the id, as src_… or pi_…, and the secret as "
                + "client_secret where it is needed"
        case .key:
            "is an API key or a signing secret, not an id: give the id, as src_… or pi_…, and roll "
                + "the key if others may have seen it"
        }
    }
}
