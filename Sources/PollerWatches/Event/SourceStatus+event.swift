import PollerIdentity
import PollerPayments

extension SourceStatus {
    /// The status as the last part of an event type: `awaiting_payment` for `Awaiting Payment`.
    ///
    /// Endpoints match types, and people write them in files and commands, so only `a–z 0–9 _ - .` are allowed. A
    /// status without any of these becomes `other`. The event also contains the original status.
    package var typeName: String {
        let plain = description.lowercased()
        if plain.utf8.allSatisfy(IdentifierSyntax.isAllowed) { return plain }
        var name = ""
        for scalar in TextForm.folded(plain).unicodeScalars {
            if scalar.isASCII, IdentifierSyntax.isAllowed(UInt8(ascii: scalar)) {
                name.unicodeScalars.append(scalar)
            } else if !name.isEmpty, !name.hasSuffix("_") {
                name.append("_")
            }
        }
        while name.hasSuffix("_") { name.removeLast() }
        return name.isEmpty ? "other" : name
    }
}
