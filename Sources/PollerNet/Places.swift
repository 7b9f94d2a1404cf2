import Synchronization

/// Counts who holds what there is only so much of, so that nobody takes the places of all.
///
/// A class, because all who take a place share one count.
package final class Places: Sendable {
    private let taken = Mutex<[String: Int]>([:])

    /// Places of which none is taken.
    package init() {}

    /// One more place under a name; nil when `most` are taken under it.
    package func take(_ name: String, most: Int) -> Place? {
        let isFree = taken.withLock { taken in
            guard taken[name, default: 0] < most else { return false }
            taken[name, default: 0] += 1
            return true
        }
        return isFree ? Place(places: self, name: name) : nil
    }

    private func leave(_ name: String) {
        taken.withLock { taken in
            let rest = (taken[name] ?? 1) - 1
            taken[name] = rest > 0 ? rest : nil
        }
    }

    /// A place that is taken until nobody holds this value: a class for its `deinit`.
    package final class Place: Sendable {
        /// A place that counts for nobody.
        package static let uncounted = Place(places: nil, name: "")

        private let places: Places?
        private let name: String

        fileprivate init(places: Places?, name: String) {
            self.places = places
            self.name = name
        }

        deinit {
            places?.leave(name)
        }
    }
}
