/// A suppressed recipient, as the list shows it.
///
/// *Format* (unknown fields are left out):
/// ```
/// {"id":"8sKx0mPq2LtZ","recipient":"j…e@example.com","account":"default","reason":"hard_bounce",
///  "since":"2026-11-20T09:30:00.125Z"}
/// ```
public struct SuppressionListEntry: WireObject, Hashable {
    /// The ID that a request to lift the entry takes.
    public var id = ""
    /// The masked address; nil where the recipient followed the link of an earlier mail.
    public var recipient: String?
    /// The account whose mails are stopped; nil for those of every account, and where that is not known.
    public var account: String?
    /// The reason why nothing is sent to the recipient.
    public var reason = Open(Suppression.Reason.unsubscribed)
    /// The time of the entry.
    public var since: Time?

    package init() {}

    package static let shape = Shape<SuppressionListEntry>("SuppressionListEntry") {
        Field("id", \.id, note: "What lifting it takes.")
        Field(
            "recipient",
            \.recipient,
            note: "Masked; left out where the link of an earlier mail was followed."
        )
        Field(
            "account",
            \.account,
            note:
                "Whose mails are stopped; left out for those of every account, and where it is not known."
        )
        Field("reason", \.reason)
        Field("since", \.since)
    }
}
