/// A recipient who is sent no mail, as the list shows it.
///
/// *Shape* (what is not known is left out):
/// ```
/// {"id":"8sKx0mPq2LtZ","recipient":"j…e@example.com","account":"default","reason":"hard_bounce",
///  "since":"2026-11-20T09:30:00.125Z"}
/// ```
public struct SuppressionListEntry: WireObject, Hashable {
    /// What lifting it takes.
    public var id = ""
    /// The masked address; nil where somebody followed the link of an earlier mail.
    public var recipient: String?
    /// Whose mails are stopped; nil for those of every account, and where that is not known.
    public var account: String?
    /// Why nothing is sent there.
    public var reason = Open(Suppression.Reason.unsubscribed)
    /// Since when.
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
