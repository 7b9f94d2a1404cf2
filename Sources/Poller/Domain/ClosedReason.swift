/// Why an item is no longer looked at.
package enum ClosedReason: String, Hashable, Sendable, CaseIterable {
    /// The status is final.
    case settled
    /// The watch's goal is reached, though the status may still change.
    case reached
    /// The deadline passed and a last look changed nothing.
    case expired
    /// Somebody asked to stop.
    case cancelled
    /// The upstream does not know the source (404).
    case gone
    /// The upstream's answers could not be understood, again and again; a person must look.
    case dead
}
