/// What a shop calls the order that a customer pays, perhaps in several tries: `A77`.
///
/// It is given with a watch, stays with it and is in each of its events, but not in what customers
/// see. It names nothing at the upstream. Watches of one account that name the same order are tries to
/// pay the same thing.
package struct OrderID: Hashable, Sendable, CustomStringConvertible {
    /// Characters at most: with more, a watch's hash would not stay in Redis' small encoding.
    package static let lengthMax = 64

    /// 1–64 of `A–Z a–z 0–9 _ - .`.
    package let description: String

    /// Checks and wraps a name from outside.
    package init(_ text: String) throws(InvalidInput) {
        description = try IdentifierSyntax.check(text, field: "order", lengthMax: Self.lengthMax)
    }

    /// Wraps a name that this system wrote itself.
    package init(unchecked text: String) {
        description = text
    }
}

extension SourceKind {
    /// An order, as an item of the queue: it has a log and is told like a watch, and is never due.
    ///
    /// Nobody can ask for a watch of it. Releases that know no orders carry its events as they carry
    /// those of any kind they do not know.
    package static let order = SourceKind.other("order")
}
