/// An entry of the suppression list.
///
/// *Format* (unknown fields are left out):
/// ```
/// {"id":"8sKx0mPq2LtZ","recipient":"j…e@example.com","account":"default","reason":"hard_bounce",
///  "since":"2026-11-20T09:30:00.125Z"}
/// ```
public struct SuppressionListEntry: WireObject, Hashable {
    /// The ID for a request to lift the suppression.
    public var id = ""
    /// The masked address; `nil` if the recipient used the link of an earlier email.
    public var recipient: String?
    /// The account whose emails are stopped; `nil` for all accounts, or if it is unknown.
    public var account: String?
    /// The reason for the suppression.
    public var reason = Open(Suppression.Reason.unsubscribed)
    /// The time of the entry.
    public var since: Time?

    package init() {}

    package static let shape = Shape<SuppressionListEntry>("SuppressionListEntry") {
        Field("id", \.id).note("The ID that removes the entry.")
        Field("recipient", \.recipient)
            .note("Masked. Left out if the recipient used the link of an earlier email.")
        Field("account", \.account)
            .note(
                "The account whose emails are stopped. Left out for all accounts, and if unknown."
            )
        Field("reason", \.reason)
        Field("since", \.since)
    }
}
