package import JSONText

extension RawJSON {
    /// Returns the object as it may be recorded: without client secrets, and without the payer's account for a refund.
    package func withoutSecrets() -> RawJSON {
        // Names may be written with escapes, and then no search finds them.
        let hasEscapes = contains(SecretSearches.backslash)
        // A charge contains its source, and no object contains more than one level. Following deeper levels would parse
        // a hostile text once for each of them.
        guard hasEscapes || mayContain(memberNamed: SecretSearches.sourceName),
            let source = member("source"), source.kind == .object
        else { return withoutRefundAccount(hasEscapes).withoutClientSecrets(hasEscapes) }
        let shown = source.withoutRefundAccount(hasEscapes).withoutClientSecrets(hasEscapes)
        return replacing(source, with: shown).withoutClientSecrets(hasEscapes)
    }

    /// Removes the refund account, which a source has in the hash of its type.
    ///
    /// *Source*: Stripe's specification of `source_type_multibanco` and `source_type_ach_credit_transfer`:
    /// `refund_iban`, `refund_account_…` and `refund_routing_number`.
    private func withoutRefundAccount(_ hasEscapes: Bool) -> RawJSON {
        guard
            hasEscapes
                || contains(SecretSearches.anyRefund)
                    && SecretSearches.refund.contains(where: contains),
            let type = member("type")?.string, let details = member(type),
            details.kind == .object
        else { return self }
        let kept = details.removing { name in
            ["refund_iban", "refund_account_", "refund_routing_number"]
                .contains(where: name.hasPrefix)
        }
        return replacing(details, with: kept)
    }

    /// Returns the object without its own `client_secret`, and with redacted secrets in its URLs.
    ///
    /// Stripe's redirect and return URLs contain `?client_secret=…`, and a mandate's URL has it in its path. An object
    /// without any secret is returned unchanged, without a copy.
    package func withoutClientSecrets() -> RawJSON {
        withoutClientSecrets(contains(SecretSearches.backslash))
    }

    private func withoutClientSecrets(_ hasEscapes: Bool) -> RawJSON {
        guard hasEscapes || contains(SecretSearches.clientSecret) else { return self }
        var shown = self
        if hasEscapes || mayContain(memberNamed: SecretSearches.clientSecretName) {
            let (rest, secret) = extracting(member: "client_secret")
            shown = rest
            if let own = secret?.string, own.utf8.count >= 8 {
                shown = shown.replacing(ByteSearch(own), with: "redacted")
            }
        }
        return shown.replacing(
            SecretSearches.queryValue,
            with: "client_secret=redacted",
            andBytesWhile: { !Self.endsQueryValue($0) }
        )
    }

    /// Whether a byte ends the value: `"` ends the string, `&` and `#` the value, and a backslash begins an escaped one
    /// of them.
    private static func endsQueryValue(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "\\"): true
        default: false
        }
    }
}

/// The searches for secrets, made once.
private enum SecretSearches {
    static let backslash = ByteSearch("\\")
    static let clientSecret = ByteSearch("client_secret")
    static let clientSecretName = ByteSearch("\"client_secret\"")
    static let sourceName = ByteSearch("\"source\"")
    static let queryValue = ByteSearch("client_secret=")
    /// The common beginning of ``refund``.
    static let anyRefund = ByteSearch("refund_")
    /// The beginnings of names.
    static let refund = [
        ByteSearch("refund_iban"), ByteSearch("refund_account_"),
        ByteSearch("refund_routing_number"),
    ]
}
