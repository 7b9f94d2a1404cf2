/// A message of a delivery: the text of an email, or the body of a webhook.
///
/// *Format* (unknown fields are left out):
/// ```
/// {"delivery":"dlv_3_8sKx0mPq2LtZ","seq":3,"event":"evt_…","to":"jane@example.com","type":"text/plain; charset=utf-8",
///  "subject":"Thank you for your payment","text":"…","sent_at":"2026-11-20T09:30:00.125Z","as_sent":true}
/// ```
public struct DeliveryMessage: WireObject, Hashable {
    /// The delivery, `dlv_…`.
    public var delivery = ""
    /// The event's `seq`.
    public var seq = 0
    /// The event's ID.
    public var event = ""
    /// The recipient's address or URL.
    public var recipient = ""
    /// The media type of ``text``.
    public var type = ""
    /// The subject of an email; `nil` for other messages.
    public var subject: String?
    /// The text of an email, or the body of a webhook.
    public var text = ""
    /// The time at which the recipient accepted the message; `nil` until then.
    public var sentAt: Time?
    /// Whether exactly this text was sent to ``recipient``; `nil` if no digest is stored.
    public var isAsSent: Bool?

    package init() {}

    package static let shape = Shape<DeliveryMessage>("DeliveryMessage") {
        Field("delivery", \.delivery)
        Field("seq", \.seq)
        Field("event", \.event)
        Field("to", \.recipient).note("The recipient's address or URL.")
        Field("type", \.type).note("The media type of the text.")
        Field("subject", \.subject).note("The subject of an email.")
        Field("text", \.text)
            .note(
                "The text of an email, without links that act for the payer, or the body of a "
                    + "webhook."
            )
        Field("sent_at", \.sentAt).note("When the recipient accepted it. Left out until then.")
        Field("as_sent", \.isAsSent)
            .note(
                "Whether this text was sent, and to this address or URL. false: a template, the "
                    + "branding or the endpoint has changed since. Left out if no attempt is kept "
                    + "to compare with."
            )
    }
}
