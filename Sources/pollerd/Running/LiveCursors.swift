import PollerAPI
import PollerChannels

/// The API keeps its readers' places as the gateway does: they may change from one to the other.
extension GatewayCursor: EventCursors {}
