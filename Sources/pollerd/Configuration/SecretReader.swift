import Foundation
import SecretFiles

/// Where the secrets of a configuration come from: variables and files.
///
/// A class, because it gathers what to warn of while the configuration is read.
final class SecretReader {
    private let environment: [String: String]
    /// What the operator should mend, a sentence each.
    private(set) var warnings: [String] = []

    /// Reads from this environment.
    init(environment: [String: String]) {
        self.environment = environment
    }

    /// A variable; nil when it is not set or empty.
    func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The secret in a file; `place` is who names it, for the error.
    func contents(of path: String, for place: String) throws(ConfigurationError) -> String {
        do throws(SecretFile.Unusable) {
            let file = try SecretFile(path: path)
            if let warning = file.warning { warn(warning) }
            return file.text
        } catch {
            throw ConfigurationError("\(place): \(error)")
        }
    }

    /// Adds a warning, once.
    func warn(_ warning: String) {
        if !warnings.contains(warning) { warnings.append(warning) }
    }
}
