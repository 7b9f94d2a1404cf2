import PollerAPI
import PollerGateway

/// The API keeps its readers' places as the gateway does: they may change from one to the other.
extension GatewayCursor: EventCursors {}
