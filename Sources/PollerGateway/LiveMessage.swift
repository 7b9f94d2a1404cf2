import Poller

/// What a subscription has to say, before a transport puts it into its own words.
enum LiveMessage: Sendable {
    /// It begins here; `lost` says why the client's cursor could not be resumed.
    case subscribed(cursor: String, lost: String?)
    /// The state of a source.
    case snapshot(WatchSnapshot, cursor: String)
    /// Something was recorded.
    case event(Event, cursor: String)
    /// The client has everything that was recorded before it subscribed.
    case caughtUp(cursor: String)
    /// No further event of this run of the source will follow.
    case settled(SourceID, cursor: String)
    /// It cannot begin: the store cannot be reached.
    case unavailable
}
