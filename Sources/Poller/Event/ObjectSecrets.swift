package import JSONText

extension RawJSON {
    /// Returns the object as it may be recorded: without client secrets, and without the payer's account for a refund.
    package func withoutSecrets() -> RawJSON {
        // A charge contains its source, and no object contains more than one level. Following deeper levels would parse
        // a hostile text once for each of them.
        guard let source = member("source"), source.kind == .object else {
            return withoutRefundAccount().withoutClientSecrets()
        }
        let shown = source.withoutRefundAccount().withoutClientSecrets()
        return replacing(source, with: shown).withoutClientSecrets()
    }

    /// Removes the refund account, which a source has in the hash of its type.
    ///
    /// *Source*: Stripe's specification of `source_type_multibanco` and `source_type_ach_credit_transfer`:
    /// `refund_iban`, `refund_account_…` and `refund_routing_number`.
    private func withoutRefundAccount() -> RawJSON {
        let text = description
        guard text.contains("refund_iban") || text.contains("refund_account_") else { return self }
        guard let type = member("type")?.string, let details = member(type),
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
    /// Stripe's redirect and return URLs contain `?client_secret=…`, and a mandate's URL has it in its path.
    package func withoutClientSecrets() -> RawJSON {
        let name = Array("client_secret=".utf8)
        var text = removing(member: "client_secret").description
        if let own = member("client_secret")?.string, own.utf8.count >= 8, text.contains(own) {
            text = text.replacing(own, with: "redacted")
        }
        let bytes = Array(text.utf8)
        var kept: [UInt8] = []
        kept.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            kept.append(bytes[position])
            position += 1
            if kept.last == UInt8(ascii: "="), kept.suffix(name.count).elementsEqual(name) {
                kept += Array("redacted".utf8)
                while position < bytes.count, !Self.endsQueryValue(bytes[position]) {
                    position += 1
                }
            }
        }
        return RawJSON(unchecked: String(decoding: kept, as: UTF8.self))
    }

    /// Whether a byte ends the value: `"` ends the string, `&` and `#` the value, and a backslash begins an escaped one
    /// of them.
    private static func endsQueryValue(_ byte: UInt8) -> Bool {
        [UInt8(ascii: "\""), UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "\\")].contains(
            byte
        )
    }
}
