"""What tests of several folders use: studies, visitors, operators, servers."""
