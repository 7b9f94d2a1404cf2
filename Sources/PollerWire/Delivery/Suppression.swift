/// A bounced email, as reported by the relay's bounce processing.
public struct Bounce: WireObject, Hashable {
    /// The kind of bounce.
    public enum Kind: String, Word {
        case hardBounce = "hard_bounce"
        case softBounce = "soft_bounce"
        case complaint
    }

    /// The recipient's address.
    public var recipient = ""
    /// The kind of bounce.
    public var type: Open<Kind>?

    package init() {}

    package static let shape = Shape<Bounce>(
        request: "Bounce",
        "a bounce",
        mustBe: "The body must be a bounce, an object such as "
            + #"{"recipient":"a@b.example","type":"hard_bounce"}"#,
        .keyword("required", #"["recipient","type"]"#)
    ) {
        Field(
            "recipient",
            \.recipient,
            .length(0...254),
            .pattern(
                "^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+([.][A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
                    + "@[A-Za-z0-9][A-Za-z0-9-]*([.][A-Za-z0-9-]+)*$"
            )
        ).note("An email address.")
        Field("type", \.type)
    }
}

/// The suppression state of an email address.
public struct Suppression: WireObject, Hashable {
    /// The reason for the suppression.
    public enum Reason: String, Word {
        case unsubscribed
        case hardBounce = "hard_bounce"
        case complaint
    }

    /// The address.
    public var recipient = ""
    /// Whether no email is sent to the address.
    public var isSuppressed = false
    /// The reason for the suppression; `nil` for an address that receives email.
    public var reason: Open<Reason>?

    package init() {}

    package static let shape = Shape<Suppression>("Suppression") {
        Field("recipient", \.recipient)
        Field("suppressed", \.isSuppressed)
        Field(nullable: "reason", \.reason)
    }
}
