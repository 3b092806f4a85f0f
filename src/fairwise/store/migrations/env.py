"""Run by Alembic, on the connection that ``migrate`` hands over."""

from alembic import context

from fairwise.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
