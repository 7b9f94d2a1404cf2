/// A request for a browser token, with the events it may subscribe to.
///
/// A `nil` filter matches every event.
public struct StreamTokenRequest: WireObject, Hashable {
    /// The level of detail in events.
    public enum View: String, Word {
        /// The fields that the customer of a source may see.
        case `public`
        /// Events as recorded.
        case full
    }

    /// The account; `nil` for the default account.
    public var account: String?
    /// The sources to include, at most 20.
    public var sources: [String]?
    /// The event types to include, such as `source.*`, at most 20.
    public var types: [String]?
    /// The level of detail in events; `nil` for `public`.
    public var view: Open<View>?
    /// The lifetime, at most one hour; `nil` for ten minutes.
    public var ttl: Span?

    /// Creates a request without filters.
    public init() {}

    package static let shape = Shape<StreamTokenRequest>(
        request: "NewStreamToken",
        "a token",
        mustBe: #"The body must be a token, an object such as {"sources":["src_…"]}"#,
        .keyword(
            "description",
            "\"The events that the holder may receive. A missing member sets no limit.\""
        )
    ) {
        Field("account", \.account, .accountID, .standard("\"default\""))
        Field("sources", \.sources, .size(1...20), .each(.sourceID))
            .note("Limits the token to events of these sources.")
        Field("types", \.types, .size(1...20), .each(.pattern("^[a-z0-9_.-]{1,128}([.][*])?$")))
            .note("Limits the token to these event types, such as source.chargeable or source.*.")
        Field("view", \.view, .standard("\"public\""))
            .note(
                "public shows only data for the customer of a source; full shows events as they "
                    + "were recorded."
            )
        Field("ttl", \.ttl).note("The lifetime, 1s to 1h. Default: 10m.")
    }
}

/// A token with which a browser subscribes at the live gateway until the token expires.
public struct StreamToken: WireObject, Hashable, CustomStringConvertible {
    /// The token itself, sent as `{"op":"auth","token":…}`.
    ///
    /// In a URL, the token opens a single connection, within 30 s of its creation. It grants nothing else.
    public var reveal = ""
    /// The expiry time, at which the gateway closes the connection with code 4105.
    public var expiresAt = Time(ms: 0)

    package init() {}

    /// A description for logs, without the token.
    public var description: String { "StreamToken(redacted)" }

    package static let shape = Shape<StreamToken>("StreamToken") {
        Field("token", \.reveal)
            .note(
                #"Shown as {"op":"auth","token":…}, as Authorization: Bearer …, or as subprotocol "#
                    + "poller.token.…; never in a URL."
            )
        Field("expires_at", \.expiresAt)
    }
}
