/// What one attempt says about everybody in its lane.
///
/// A lane has a rate factor and a circuit. The factor follows additive increase, multiplicative
/// decrease (Chiu and Jain, 1989): halved by `slow`, it grows back by 5 % of the limit a second.
/// The circuit opens after ``LaneSignal/failuresMax`` attempts in a row without an answer: the
/// lane is held (``CircuitHold``, a choice of the queue), then probed by one attempt at a time, until
/// one is answered.
package enum LaneSignal: Hashable, Sendable {
    /// The other side answered; an open circuit closes.
    case fine
    /// Everybody in this lane should wait this long; it says nothing else. A hold of nothing says
    /// nothing at all.
    case hold(Duration)
    /// Too many requests: wait this long, then go on at half the rate.
    case slow(Duration)
    /// No usable answer; enough of these in a row open the circuit.
    case failing
    /// Our credentials were refused for an item that had an answer before, or was never asked for:
    /// counted as ``failing``, and the holds of a circuit that only these open grow slowly
    /// (``CircuitHold/denialsToDouble``). It may be one item, or a key that was revoked.
    case denied
    /// No usable answer again from an item that had none before: alone it says nothing about the
    /// lane. While the circuit is open already, it is held for as long as last time.
    case stillFailing
    /// Nothing will work before a person acts: the circuit opens at once, for this long.
    case refused(Duration)

    /// Attempts in a row without an answer that open a lane's circuit: below it an ordinary
    /// hiccup, above it every further request is a burden to a service that is down.
    package static let failuresMax = 10
    /// The least rate factor: enough to notice that the limit is lifted.
    package static let factorMin = 1.0 / 32
    /// How much of the limit a lane gets back each second after a `slow`.
    package static let recoveryPerSecond = 0.05
}
